import pg from 'pg'

/** Runs one statement on a connection of its own, and gives its rows. */
export async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client(url)
  await client.connect()
  return await client
    .query(sql)
    .then(({ rows }) => rows as unknown[])
    .finally(() => client.end())
}
