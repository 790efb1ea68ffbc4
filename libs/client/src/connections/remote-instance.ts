import { normalizeOrigin } from '@gatehouse/contracts/constants'
import { ApiError, NetworkFailure } from '../api/errors.ts'
import type { User } from '../api/records.ts'

/** needs_password: call connect(). unreachable: call retry(). refused: see `error`. disconnected: by the user. */
export type RemoteState = 'connecting' | 'connected' | 'needs_password' | 'unreachable' | 'refused' | 'disconnected'

/** sending: the first attempts. retrying: the background retries. */
export type PasswordSync = 'idle' | 'sending' | 'retrying'

export type RemoteInstance = {
  origin: string
  username: string
  token: string | null
  user: User | null
  state: RemoteState
  error: string | null
  online: boolean
  passwordSync: PasswordSync
  /** Send it again with passwordPropagation.resend(). */
  pendingPasswordSync: boolean
}

export function newRemote(origin: string, username: string, part: Partial<RemoteInstance> = {}): RemoteInstance {
  return {
    origin,
    username,
    token: null,
    user: null,
    state: 'connecting',
    error: null,
    online: false,
    passwordSync: 'idle',
    pendingPasswordSync: false,
    ...part,
  }
}

export function stateAfter(error: unknown): Pick<RemoteInstance, 'state' | 'error'> {
  const message = error instanceof Error ? error.message : 'Something went wrong'
  return { state: findState(error), error: message }
}

function findState(error: unknown): RemoteState {
  if (error instanceof NetworkFailure) return 'unreachable'
  if (!(error instanceof ApiError)) return 'refused'
  if (error.status >= 500) return 'unreachable'
  return error.status === 401 ? 'needs_password' : 'refused'
}

/** Null: no origin. Passwords go there, so plain http needs `allowHttp` (when the own instance uses it too). */
export function originOfAddress(typed: string, options: { allowHttp?: boolean } = {}): string | null {
  const text = typed.trim()
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`)
  if (!url || url.username || url.password) return null
  const origin = normalizeOrigin(url.origin)
  return origin?.startsWith('https:') || options.allowHttp ? origin : null
}
