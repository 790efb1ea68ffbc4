import type { EntityClass, EntityManager, FilterQuery } from '@mikro-orm/postgresql'

/** Which page: `cursor` is the id of the last row of the page before. Contract: 4, lists. */
export type PageRequest = { limit: number; cursor?: string | undefined }

/** `nextCursor` is null at the end. */
export type Page<T> = { rows: T[]; nextCursor: string | null }

/** A page of the rows that fit `where`, newest first. One row more than the page is read: it decides whether the list continues. */
export async function findPage<T extends { id: string }>(
  em: EntityManager,
  entity: EntityClass<T>,
  { where = {}, limit, cursor }: PageRequest & { where?: FilterQuery<T> },
): Promise<Page<T>> {
  const below = cursor === undefined ? {} : { id: { $lt: cursor } }
  // The types of `find` cannot express "an entity with an id"; the signature of this function does.
  const query = [{ $and: [below, where] }, { orderBy: { id: 'desc' }, limit: limit + 1 }] as [never, never]
  const found = await em.find<T>(entity, ...query)
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  return { rows, nextCursor: last && found.length > limit ? last.id : null }
}
