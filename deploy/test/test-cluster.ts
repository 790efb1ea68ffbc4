import { startEphemeralPostgres } from '@gatehouse/local-servers'
import { runData } from '@gatehouse/test-kit'
import { postgresSettings, startCluster, type Cluster, type ClusterOptions } from '../cluster/cluster.ts'

const programs = { identity: 'deploy/test-programs/identity.ts' }

/** A cluster with the database of `runData`, that hashes quickly; with the options of `startCluster`. */
export async function startTestCluster({ servers, ...options }: ClusterOptions = {}): Promise<Cluster> {
  await using opening = new AsyncDisposableStack()
  const startPostgres = async () =>
    await startEphemeralPostgres({ settings: postgresSettings, copyOf: await runData() })
  const postgres = servers?.postgres ?? opening.use(await startPostgres())
  const cluster = opening.use(await startCluster({ programs, ...options, servers: { ...servers, postgres } }))
  const open = opening.move()
  return { ...cluster, [Symbol.asyncDispose]: () => open.disposeAsync() }
}
