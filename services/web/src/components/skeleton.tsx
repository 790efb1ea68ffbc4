import { t } from '../language/language.ts'

/** Placeholder of a list that is loading. */
export function ListSkeleton({ rows = 4 }: { rows?: number }) {
  return (
    <div className="stack" role="status" aria-label={t('Loading')}>
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} className="skeleton skeleton--row" />
      ))}
    </div>
  )
}

/** Placeholder of a page that is loading. */
export function PageSkeleton() {
  return (
    <div className="page-skeleton" role="status" aria-label={t('Loading')}>
      <span className="skeleton skeleton--card" />
      <span className="skeleton skeleton--card" />
    </div>
  )
}
