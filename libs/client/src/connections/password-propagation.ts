import type { Api } from '../api/api.ts'
import { ApiError } from '../api/errors.ts'
import type { CallOptions } from '../api/request.ts'
import type { ClientClock } from '../ports.ts'
import { wait } from '../wait.ts'
import type { CreateRemoteApi } from './remote-sessions.ts'
import type { RemoteInstance } from './remote-instance.ts'
import type { RemoteList } from './remote-list.ts'

/** Sends a new password to the connected instances and keeps trying. Progress shows in the connections. */
export type PasswordPropagation = {
  /** To every connected instance; cancels what still runs for them. Resolves when the first attempts are through. */
  propagate(newPassword: string): Promise<void>
  /** Sends the present password once more to an instance with `pendingPasswordSync`; throws the errors of the API. */
  resend(origin: string, password: string, call?: CallOptions): Promise<void>
  /** Ends all timers and calls. */
  cancelAll(): void
}

const firstRetriesMs = [2_000, 4_000, 8_000]
const backgroundRetriesMs = [...Array<number>(10).fill(30_000), ...Array<number>(12).fill(300_000)]

/** One change for one instance: `stopped` ends its waiting, `ended` also its call; `done` is when it sends no more. */
type Run = { stopped: AbortController; ended: AbortController; done: Promise<void> }

export type PropagationDeps = { remotes: RemoteList; createRemoteApi: CreateRemoteApi; clock: ClientClock }

/** Spec: Client session behaviour, password propagation. The password lives only as long as the attempts. */
export function createPasswordPropagation(deps: PropagationDeps): PasswordPropagation {
  const { remotes, clock } = deps
  const runs = new Map<string, Run>()

  const send = async (remote: RemoteInstance, newPassword: string, call: CallOptions) => {
    const token = await changePasswordOn(deps.createRemoteApi, remote, newPassword, call)
    remotes.change(remote.origin, { token, pendingPasswordSync: false })
  }
  /** One attempt; gives whether there is nothing left to do: it succeeded, or the instance is gone. */
  const attempt = async (origin: string, newPassword: string, run: Run) => {
    const remote = remotes.find(origin)
    if (!remote?.token) return true
    try {
      await send(remote, newPassword, { signal: run.ended.signal })
      return true
    } catch {
      return false
    }
  }
  const retry = async (origin: string, newPassword: string, run: Run, delaysMs: readonly number[]) => {
    for (const delayMs of delaysMs) {
      if (!(await wait(clock, delayMs, run.stopped.signal))) return true
      if (await attempt(origin, newPassword, run)) return true
      if (run.stopped.signal.aborted) return true
    }
    return false
  }
  const sendFirst = async (origin: string, newPassword: string, run: Run) => {
    if (run.stopped.signal.aborted || (await attempt(origin, newPassword, run))) return true
    return retry(origin, newPassword, run, firstRetriesMs)
  }
  const finish = (origin: string, run: Run, part: Partial<RemoteInstance>) => {
    if (runs.get(origin) !== run) return
    runs.delete(origin)
    remotes.change(origin, { passwordSync: 'idle', ...part })
  }
  /** Gives two promises: the first attempts, and the whole. */
  const start = (origin: string, newPassword: string) => {
    const before = runs.get(origin)
    before?.stopped.abort()
    const run: Run = { stopped: new AbortController(), ended: new AbortController(), done: Promise.resolve() }
    runs.set(origin, run)
    remotes.change(origin, { passwordSync: 'sending' })
    // A call under way may still succeed and bring the token that the next call needs: it is awaited, not broken off.
    const first = (before?.done ?? Promise.resolve()).then(() => sendFirst(origin, newPassword, run))
    run.done = first.then(async (settled) => {
      if (settled) return finish(origin, run, {})
      if (runs.get(origin) === run) remotes.change(origin, { passwordSync: 'retrying' })
      const reached = await retry(origin, newPassword, run, backgroundRetriesMs)
      finish(origin, run, reached ? {} : { pendingPasswordSync: true })
    })
    return first
  }

  return {
    propagate: async (newPassword) => {
      const connected = remotes.getSnapshot().filter(({ token }) => token !== null)
      await Promise.all(connected.map(({ origin }) => start(origin, newPassword)))
    },
    resend: async (origin, password, call = {}) => {
      const remote = remotes.find(origin)
      if (!remote?.token) throw new ApiError(400, 'Connect to this instance first')
      await send(remote, password, call)
    },
    cancelAll: () => {
      for (const run of runs.values()) {
        run.stopped.abort()
        run.ended.abort()
      }
      runs.clear()
    },
  }
}

/**
 * Changes the password on one instance; gives the fresh token. A token that died there (an earlier change whose answer
 * was lost) is replaced by logging in with the new password, which the instance checks with home if need be.
 */
async function changePasswordOn(
  createRemoteApi: CreateRemoteApi,
  remote: RemoteInstance,
  newPassword: string,
  call: CallOptions,
): Promise<string> {
  const api: Api = createRemoteApi({ origin: remote.origin, token: () => remote.token })
  try {
    return (await api.users.changePassword({ newPassword }, call)).token
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error
    return (await api.auth.login({ username: remote.username, password: newPassword }, call)).token
  }
}
