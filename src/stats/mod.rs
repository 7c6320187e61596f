//! Percentiles, intervals, histograms.
