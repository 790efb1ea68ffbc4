import type { EntityClass, EntityManager, FilterQuery } from '@mikro-orm/postgresql'

/** `cursor` is the last id of the page before. Contract: 4, lists. */
export type PageRequest = { limit: number; cursor?: string | undefined }

export type Page<T> = { rows: T[]; nextCursor: string | null }

/** Newest first. One more row is read to know whether the list continues. */
export async function findPage<T extends { id: string }>(
  em: EntityManager,
  entity: EntityClass<T>,
  { where = {}, limit, cursor }: PageRequest & { where?: FilterQuery<T> },
): Promise<Page<T>> {
  const below = cursor === undefined ? {} : { id: { $lt: cursor } }
  // The types of `find` cannot express "an entity with an id".
  const query = [{ $and: [below, where] }, { orderBy: { id: 'desc' }, limit: limit + 1 }] as [never, never]
  const found = await em.find<T>(entity, ...query)
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  return { rows, nextCursor: last && found.length > limit ? last.id : null }
}
