# Numbers that tests/measures compares with: Rscript tests/measures/oracles.R (psych 2.2.9, lme4 1.1-31)
suppressMessages({library(psych); library(lme4)})
options(digits = 12, width = 200)

made <- function(n, k, rater) {
  i <- matrix(1:n, n, k); j <- matrix(1:k, n, k, byrow = TRUE)
  40 + 12 * sin(1.7 * i) + rater * cos(2.3 * j) + 2 * sin(12.9898 * i + 78.233 * j)
}
gaps <- function(y) { i <- row(y); j <- col(y); y[(7 * i + 3 * j) %% 10 < 3] <- NA; y }
shrout <- matrix(c(9,2,5,8, 6,1,3,2, 8,4,6,8, 7,1,2,6, 10,5,6,9, 6,2,4,7), 6, byrow = TRUE)

cat("psych::ICC, complete tables\n")
for (y in list(shrout, made(12, 3, 3), made(40, 5, 0.5))) {
  print(ICC(y, lmer = FALSE)$results[, c("type", "ICC", "lower bound", "upper bound")])
}

control <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhobeg = 0.2, rhoend = 1e-12, maxfun = 1e6))
fit <- function(y, one_way = FALSE) {
  d <- na.omit(data.frame(y = as.vector(y), s = factor(row(y)), r = factor(col(y))))
  f <- if (one_way) y ~ 1 + (1 | s) else y ~ 1 + (1 | s) + (1 | r)
  print(as.data.frame(VarCorr(lmer(f, d, control = control)))[, c("grp", "vcov")])
}
cat("lme4::lmer, tables with gaps\n")
few <- shrout; few[1, 2] <- few[4, 3] <- few[6, 1] <- NA
once <- made(8, 3, 3); once[2:8, 3] <- NA
for (y in list(few, gaps(made(20, 5, 3)), gaps(made(30, 4, 0)), once)) { fit(y); fit(y, TRUE) }
