# Optimism of a logistic regression by Harrell's bootstrap, with the resamples that it drew: rms::validate on whas500.
#
#     Rscript rms_optimism.R WHAS500_CSV OUT_FOLDER
#
# `validate` draws sample(n, replace = TRUE) once a resample: the same seed gives the rows that are written beside its table.
library(rms)
arguments <- commandArgs(TRUE)
d <- read.csv(arguments[1])
covariates <- c("age", "gender", "hr", "sysbp", "diasbp", "bmi", "cvd", "afb", "chf", "miord", "mitype")
d$y <- as.integer(d$event == 1)
f <- lrm(as.formula(paste("y ~", paste(covariates, collapse = " + "))), data = d, x = TRUE, y = TRUE, tol = 1e-12, eps = 1e-10, maxit = 50)
B <- 40
set.seed(20261125)
v <- validate(f, B = B)
set.seed(20261125)
rows <- t(replicate(B, sample(nrow(d), replace = TRUE)))
statistics <- c("Dxy", "Intercept", "Slope", "B")
columns <- c("index.orig", "training", "test", "optimism", "index.corrected", "n")
table <- data.frame(statistic = statistics, unclass(v)[statistics, columns], row.names = NULL)
names(table) <- c("statistic", "apparent", "training", "test", "optimism", "corrected", "resamples")
write.csv(format(table, digits = 12, trim = TRUE), file.path(arguments[2], "rms_optimism.csv"), row.names = FALSE, quote = FALSE)
write.table(rows - 1, gzfile(file.path(arguments[2], "rms_resamples.csv.gz")), sep = ",", row.names = FALSE, col.names = FALSE)
print(v)
cat(R.version.string, "rms", as.character(packageVersion("rms")), "\n")
