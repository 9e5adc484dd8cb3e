"""What plans and batches show when they are looked at together: metrics, curves, frontiers, groups, attribution."""
