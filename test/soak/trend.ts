export type Point = readonly [x: number, y: number]

/** `error`: the standard error of the slope. `margin`: what the slope may be off; both infinite where too few points are independent. */
export type Trend = { slope: number; error: number; margin: number; mean: number; independent: number }

export type Verdict = 'flat' | 'rises' | 'undecided'

/** With fewer, their own spread is not known well enough. */
const leastIndependent = 10

/** Standard errors: three for many samples. For few it is Student's t of the same probability (0.13 % on a side), in its expansion. */
const errorsAt = (freedom: number): number => 3 + 7.5 / freedom + 17.25 / freedom ** 2 + 30.2 / freedom ** 3

/**
 * The line of least squares. Samples resemble those before them (a heap between two collections), so that a plain standard error
 * would be far too small: here n is the number of independent samples, n (1 − r) / (1 + r), with r the correlation of neighbouring
 * residuals (Santer et al. 2000).
 */
export function fitTrend(points: readonly Point[]): Trend {
  const n = points.length
  const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(n, 1)
  const [meanX, mean] = [meanOf(points.map(([x]) => x)), meanOf(points.map(([, y]) => y))]
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  if (n < leastIndependent || spread === 0) return { slope: 0, error: Infinity, margin: Infinity, mean, independent: n }
  const slope = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - mean), 0) / spread
  const residuals = points.map(([x, y]) => y - mean - slope * (x - meanX))
  const squares = residuals.reduce((sum, each) => sum + each ** 2, 0)
  // What rounding leaves of a straight line is no noise.
  if (squares <= n * (1e-9 * (Math.abs(mean) + 1)) ** 2) return { slope, error: 0, margin: 0, mean, independent: n }
  const neighbours = residuals.slice(1).reduce((sum, each, index) => sum + each * residuals[index]!, 0)
  const r = Math.min(Math.max(neighbours / squares, 0), 0.999)
  const independent = (n * (1 - r)) / (1 + r)
  if (independent < leastIndependent) return { slope, error: Infinity, margin: Infinity, mean, independent }
  const error = Math.sqrt(squares / (independent - 2) / spread)
  return { slope, error, margin: errorsAt(independent - 2) * error, mean, independent }
}

/** `rises`, `flat`: the slope is above, or not above, `most`, with the margin to spare. */
export function judgeTrend({ slope, margin }: Pick<Trend, 'slope' | 'margin'>, most: number): Verdict {
  if (slope - margin > most) return 'rises'
  return slope + margin <= most ? 'flat' : 'undecided'
}

/** The least slope that this run would have called rising. */
export const leastFound = ({ margin }: Trend, most: number): number => most + margin
