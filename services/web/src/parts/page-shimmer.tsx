/** Keeps the place of a page that is on its way. */
export function PageShimmer() {
  return (
    <div className="page-shimmer" role="status" aria-label="Loading">
      <span className="shimmer shimmer--tall" />
      <span className="shimmer shimmer--tall" />
    </div>
  )
}
