import type { Api } from '../api/api.ts'
import type { ReplicatedInstance } from '../api/records.ts'
import type { Session } from '../session/session.ts'

export type ChangeReplicatedInstances = (
  change: (instances: readonly ReplicatedInstance[]) => readonly ReplicatedInstance[],
) => Promise<void>

/** One after the other: each change sends the whole list. */
export function createReplicatedInstances(deps: {
  api: Pick<Api, 'call'>
  session: Pick<Session, 'getSnapshot' | 'setUser'>
}): ChangeReplicatedInstances {
  let last: Promise<void> = Promise.resolve()
  const send = async (change: Parameters<ChangeReplicatedInstances>[0]) => {
    const { user } = deps.session.getSnapshot()
    if (!user) return
    const replicatedInstances = [...change(user.replicatedInstances)]
    if (JSON.stringify(replicatedInstances) === JSON.stringify(user.replicatedInstances)) return
    deps.session.setUser(await deps.api.call('patchSelf', { body: { replicatedInstances } }))
  }
  return (change) => {
    const sent = last.then(() => send(change))
    last = sent.catch(() => undefined)
    return sent
  }
}
