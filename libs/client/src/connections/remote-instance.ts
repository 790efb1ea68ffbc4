import { normalizeOrigin } from '@gatehouse/contracts/constants'
import { ApiError, NetworkFailure } from '../api/errors.ts'
import type { User } from '../api/records.ts'

/**
 * connecting, connected; needs_password: no valid token, connect() with the password; unreachable: no response,
 * retry(); refused: the instance refused the sign-in, see `error`; disconnected: by the user.
 */
export type RemoteState = 'connecting' | 'connected' | 'needs_password' | 'unreachable' | 'refused' | 'disconnected'

/** idle; sending: the first attempts after a password change; retrying: the background retries. */
export type PasswordSync = 'idle' | 'sending' | 'retrying'

/** Another instance on which the user has an account. */
export type RemoteInstance = {
  origin: string
  /** The user's name on that instance. */
  username: string
  token: string | null
  user: User | null
  state: RemoteState
  /** The message of the last failure, to be shown. */
  error: string | null
  /** Whether the live connection to it is ready. */
  online: boolean
  passwordSync: PasswordSync
  /** The instance does not have the last new password. Send it again: passwordPropagation.resend(). */
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

/** The state of a remote instance after a failed attempt to connect. */
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

/**
 * The origin of an address as people type it (`b.example`, `https://b.example/x`), or null when it has none. The user's
 * password is sent there, so plain http is accepted only with `allowHttp` (when the own instance uses it too).
 */
export function originOfAddress(typed: string, options: { allowHttp?: boolean } = {}): string | null {
  const text = typed.trim()
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`)
  if (!url || url.username || url.password) return null
  const origin = normalizeOrigin(url.origin)
  return origin?.startsWith('https:') || options.allowHttp ? origin : null
}
