import { startNats, startEphemeralPostgres, startRedis, type LocalServer } from '@gatehouse/local-servers'

/** Speed over durability: the data are not needed after the run. Tests that need statistics of rows make them. */
export const testPostgresSettings = {
  synchronous_commit: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  max_connections: '400',
}

/** PostgreSQL, NATS and Redis of the run: those the environment names, else of this process, started at first use. */
export const runPostgres = oneServer('GATEHOUSE_TEST_POSTGRES_URL', () =>
  startEphemeralPostgres({ settings: testPostgresSettings }),
)
export const runNats = oneServer('GATEHOUSE_TEST_NATS_URL', () => startNats())
export const runRedis = oneServer('GATEHOUSE_TEST_REDIS_URL', () => startRedis())

function oneServer(variable: string, start: () => Promise<LocalServer>): () => Promise<string> {
  let started: Promise<LocalServer> | undefined
  return async () => {
    const url = process.env[variable]
    if (url) return url
    started ??= start()
    return (await started).url
  }
}
