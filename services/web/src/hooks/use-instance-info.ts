import type { InstanceInfo } from '@gatehouse/client'
import { client } from '../client.ts'
import { useLoad } from './use-load.ts'

let lastKnown: InstanceInfo | null = null

/** What this instance says of itself; `settled` once it has answered or failed. What was known stays in view meanwhile. */
export function useInstanceInfo(): { info: InstanceInfo | null; settled: boolean } {
  const load = useLoad('instance', async (signal) => (lastKnown = await client.api.instance.info({ signal })))
  return { info: load.data ?? lastKnown, settled: !load.loading }
}
