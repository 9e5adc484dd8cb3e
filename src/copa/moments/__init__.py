"""What is known of tomorrow's model parameters: mean, covariance, and how far both may drift."""
