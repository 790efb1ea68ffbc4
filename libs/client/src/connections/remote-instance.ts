import { ApiError, NetworkFailure } from '../api/errors.ts'
import type { User } from '../api/records.ts'

/**
 * connecting, connected; needs_password: no usable token, connect() with the password; unreachable: no answer, retry();
 * refused: the instance said no, see `error`; disconnected: by the user.
 */
export type RemoteState = 'connecting' | 'connected' | 'needs_password' | 'unreachable' | 'refused' | 'disconnected'

/** idle; sending: the first attempts of a password change; retrying: the background retries. */
export type PasswordSync = 'idle' | 'sending' | 'retrying'

/** Another instance on which the user has an account. */
export type RemoteInstance = {
  origin: string
  /** The user's name on that instance. */
  username: string
  token: string | null
  user: User | null
  state: RemoteState
  /** What went wrong last, for a person to read. */
  error: string | null
  /** Whether the live connection to it is up. */
  online: boolean
  passwordSync: PasswordSync
  /** The instance never got the last new password. Send it again: passwordPropagation.resend(). */
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

/** What a failed attempt to connect makes of a remote instance. */
export function stateAfter(error: unknown): Pick<RemoteInstance, 'state' | 'error'> {
  const message = error instanceof Error ? error.message : 'Something went wrong'
  if (error instanceof NetworkFailure) return { state: 'unreachable', error: message }
  if (error instanceof ApiError && error.status >= 500) return { state: 'unreachable', error: message }
  if (error instanceof ApiError && error.status === 401) return { state: 'needs_password', error: message }
  return { state: 'refused', error: message }
}

/**
 * An instance's origin from what a person typed (`b.example`, `https://b.example/x`), or null when it is none. The
 * user's password goes there, so plain http is taken only with `allowHttp` (the own instance speaks it too).
 */
export function normalizeOrigin(typed: string, options: { allowHttp?: boolean } = {}): string | null {
  const text = typed.trim()
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`)
  if (!url?.hostname || url.username || url.password) return null
  if (url.protocol !== 'https:' && !(options.allowHttp && url.protocol === 'http:')) return null
  return url.origin
}
