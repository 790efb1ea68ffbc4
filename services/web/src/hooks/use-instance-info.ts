import type { InstanceInfo } from '@gatehouse/client'
import { useClient } from '../context.ts'
import { useQuery } from './use-query.ts'

let cached: InstanceInfo | null = null
/** The request under way, for all who ask meanwhile. */
let running: Promise<InstanceInfo> | null = null

/** Name, version and registration setting of this instance, cached between pages. `settled`: answered or failed. */
export function useInstanceInfo(): { info: InstanceInfo | null; settled: boolean } {
  const client = useClient()
  const query = useQuery('instance', async () => {
    running ??= client.call('instanceInfo').finally(() => (running = null))
    return (cached = await running)
  })
  return { info: query.data ?? cached, settled: !query.loading }
}
