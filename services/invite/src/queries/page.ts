/** Where a list goes on: `cursor` is the id of the last row of the page before. Contract: 4. */
export type Page = { limit: number; cursor?: string | undefined }

/** The part of a query that finds a page of rows, newest first, and one more that tells whether the list goes on. */
export function pageQueryOf({ limit, cursor }: Page) {
  return {
    where: cursor === undefined ? {} : { id: { $lt: cursor } },
    options: { orderBy: { id: 'desc' }, limit: limit + 1 },
  } as const
}

/** Parts what such a query found into the page and where the next one starts, null at the end. */
export function pageOf<Row extends { id: string }>(found: Row[], { limit }: Page) {
  const rows = found.slice(0, limit)
  return { rows, nextCursor: found.length > limit ? rows.at(-1)!.id : null }
}
