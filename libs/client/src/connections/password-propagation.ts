import type { CallOptions } from '../api/api.ts'
import { ApiError } from '../api/errors.ts'
import type { OwnConfirmation } from '../api/records.ts'
import type { ClientClock } from '../platform.ts'
import { wait } from '../wait.ts'
import type { CreateRemoteApi } from './remote-sessions.ts'
import type { RemoteInstance, RemoteList } from './remotes.ts'

export type PasswordPropagation = ReturnType<typeof createPasswordPropagation>

const firstRetriesMs = [2_000, 4_000, 8_000]
const backgroundRetriesMs = [...Array<number>(10).fill(30_000), ...Array<number>(12).fill(300_000)]

type RetryLoop = { retries: AbortController; calls: AbortController; finished: Promise<void> }

/**
 * Not to accounts with a password of their own. Holds the password in memory during attempts. Spec: Client session
 * behaviour, password propagation; Contract: 3, federation-credential.
 */
// eslint-disable-next-line max-lines-per-function -- one thing: its functions share its state
export function createPasswordPropagation(deps: {
  remotes: RemoteList
  createRemoteApi: CreateRemoteApi
  clock: ClientClock
  /** Throws a 403 for a wrong password. */
  verifyPassword: (proof: OwnConfirmation, options?: CallOptions) => Promise<void>
}) {
  const { remotes, clock } = deps
  const loops = new Map<string, RetryLoop>()

  const send = async (remote: RemoteInstance, newPassword: string, options: CallOptions) => {
    const token = await changePasswordOn(deps.createRemoteApi, remote, newPassword, options)
    remotes.change(remote.origin, { token, pendingPasswordSync: false })
  }
  const start = (origin: string, newPassword: string) => {
    const previous = loops.get(origin)
    previous?.retries.abort()
    const finished = previous?.finished ?? Promise.resolve()
    const loop: RetryLoop = { retries: new AbortController(), calls: new AbortController(), finished }
    const stopped = loop.retries.signal
    loops.set(origin, loop)
    remotes.change(origin, { passwordSync: 'sending' })

    /** False: it failed. */
    const attempt = async () => {
      const remote = remotes.find(origin)
      if (!remote?.token || remote.ownPassword) return true
      const sent = send(remote, newPassword, { signal: loop.calls.signal })
      return await sent.then(() => true).catch(() => false)
    }
    const retry = async (delaysMs: readonly number[]) => {
      for (const delayMs of delaysMs) {
        if (!(await wait(clock, delayMs, stopped)) || (await attempt()) || stopped.aborted) return true
      }
      return false
    }
    const finish = (part: Partial<RemoteInstance>) => {
      if (loops.get(origin) !== loop) return
      loops.delete(origin)
      remotes.change(origin, { passwordSync: 'idle', ...part })
    }
    // Not aborted: the running call may return the token that the next one needs.
    const first = finished.then(async () => stopped.aborted || (await attempt()) || (await retry(firstRetriesMs)))
    loop.finished = first.then(async (isDone) => {
      if (isDone) return finish({})
      if (loops.get(origin) === loop) remotes.change(origin, { passwordSync: 'retrying' })
      finish((await retry(backgroundRetriesMs)) ? {} : { pendingPasswordSync: true })
    })
    return first
  }

  return {
    /** Cancels running retries. Resolves before the background retries. */
    propagate: async (newPassword: string): Promise<void> => {
      const connected = remotes.getSnapshot().filter(({ token, ownPassword }) => token !== null && !ownPassword)
      await Promise.all(connected.map(({ origin }) => start(origin, newPassword)))
    },
    /** Verifies the password at home first. Throws the API's errors. */
    resend: async (origin: string, password: string, options: CallOptions = {}): Promise<void> => {
      const remote = remotes.find(origin)
      if (!remote?.token) throw new ApiError(400, 'Connect to this instance first.')
      await deps.verifyPassword({ password }, options)
      await send(remote, password, options)
    },
    cancelAll: (): void => {
      for (const loop of loops.values()) {
        loop.retries.abort()
        loop.calls.abort()
      }
      loops.clear()
    },
  }
}

/** Returns the new token. An invalid token (lost response) leads to a log-in with the new password. */
export async function changePasswordOn(
  createRemoteApi: CreateRemoteApi,
  remote: Pick<RemoteInstance, 'origin' | 'username' | 'token'>,
  newPassword: string,
  options: CallOptions,
): Promise<string> {
  const api = createRemoteApi({ origin: remote.origin, token: () => remote.token })
  try {
    return (await api.call('changePassword', { body: { newPassword }, ...options })).token
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error
    return (await api.call('login', { body: { username: remote.username, password: newPassword }, ...options })).token
  }
}
