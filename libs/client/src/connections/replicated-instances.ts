import type { Api } from '../api/api.ts'
import type { ReplicatedInstance } from '../api/records.ts'
import type { Session } from '../session/session.ts'

/** Changes the user's list of replicatedInstances on the own instance. */
export type ChangeReplicatedInstances = (
  change: (instances: readonly ReplicatedInstance[]) => readonly ReplicatedInstance[],
) => Promise<void>

/** One change after the other: each sends the whole list, so two concurrent ones would lose one of them. */
export function createReplicatedInstances(deps: {
  api: Pick<Api, 'users'>
  session: Pick<Session, 'getSnapshot' | 'setUser'>
}): ChangeReplicatedInstances {
  let last: Promise<void> = Promise.resolve()
  const send = async (change: Parameters<ChangeReplicatedInstances>[0]) => {
    const { user } = deps.session.getSnapshot()
    if (!user) return
    const replicatedInstances = [...change(user.replicatedInstances)]
    if (JSON.stringify(replicatedInstances) === JSON.stringify(user.replicatedInstances)) return
    deps.session.setUser(await deps.api.users.update({ replicatedInstances }))
  }
  return (change) => {
    const sent = last.then(() => send(change))
    last = sent.catch(() => undefined)
    return sent
  }
}
