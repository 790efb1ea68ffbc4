import { Button } from '../../parts/button.tsx'

/** Steps through numbered pages; a single page needs none. */
export function Pager({ page, pages, onPick }: { page: number; pages: number; onPick: (page: number) => void }) {
  if (pages < 2) return null
  return (
    <nav className="pager" aria-label="Pages of the list">
      <Button size="small" aria-disabled={page === 1} onClick={() => onPick(page - 1)}>
        Previous
      </Button>
      <span className="number small quiet">
        Page {page} of {pages}
      </span>
      <Button size="small" aria-disabled={page >= pages} onClick={() => onPick(page + 1)}>
        Next
      </Button>
    </nav>
  )
}
