import type { ReactNode } from 'react'
import type { Query } from '../hooks.ts'
import { Button } from './button.tsx'
import { QueryError } from './error-message.tsx'
import type { IconName } from './icon.tsx'
import { EmptyState, Skeleton } from './status.tsx'

type Props<T> = {
  query: Query
  items: T[] | null
  fetchNextPage?: (() => void) | null
  empty: string
  icon?: IconName
  rows?: number
  className?: string
  children?: ((item: T) => ReactNode) | undefined
  /** In place of the list of `children`. */
  show?: ((items: T[]) => ReactNode) | undefined
}

/** The items of a query, or its placeholder, error or empty state. */
export function QueryList<T>({ query, items, fetchNextPage, empty, ...props }: Props<T>) {
  const { icon = 'link', rows = 2, className = 'list', children, show } = props
  return (
    <>
      <QueryError query={query} />
      {!items && query.loading && <Skeleton rows={rows} />}
      {items?.length === 0 && <EmptyState icon={icon}>{empty}</EmptyState>}
      {items && items.length > 0 && show?.(items)}
      {items && items.length > 0 && children && (
        <ul className={className} aria-busy={query.loading}>
          {items.map(children)}
        </ul>
      )}
      {fetchNextPage && <Button busy={query.loading} text="Show more" onClick={fetchNextPage} />}
    </>
  )
}
