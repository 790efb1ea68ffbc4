import { privateNats, privatePostgres, privateRedis, type PrivateServer } from '@gatehouse/local-servers'

/** Speed over durability: for servers whose data nobody needs after the run. */
export const testPostgresSettings = { synchronous_commit: 'off', full_page_writes: 'off', max_connections: '400' }

/** The run's Postgres, NATS and Redis: those the environment names, else this process' own, started at first use. */
export const runPostgres = oneServer('GATEHOUSE_TEST_POSTGRES_URL', () =>
  privatePostgres({ settings: testPostgresSettings }),
)
export const runNats = oneServer('GATEHOUSE_TEST_NATS_URL', () => privateNats())
export const runRedis = oneServer('GATEHOUSE_TEST_REDIS_URL', () => privateRedis())

function oneServer(variable: string, start: () => Promise<PrivateServer>): () => Promise<string> {
  let started: Promise<PrivateServer> | undefined
  return async () => {
    const named = process.env[variable]
    if (named) return named
    started ??= start()
    return (await started).url
  }
}
