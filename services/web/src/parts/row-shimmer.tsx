/** Keeps the place of a list that is on its way. */
export function RowShimmer({ rows = 4 }: { rows?: number }) {
  return (
    <div className="stack" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} className="shimmer shimmer--row" />
      ))}
    </div>
  )
}
