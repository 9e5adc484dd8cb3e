"""The paper: ambiguity sets, bounds with certificates, corrections and the objective; arrays in, arrays out."""
