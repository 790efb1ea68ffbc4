import type { User } from '../api/records.ts'
import type { Store } from '../store.ts'

export const tokenKey = 'service_token'

export type SessionEndReason =
  'logged_out' | 'load_failed' | 'token_refused' | 'password_reset' | 'account_deleted' | 'ended_elsewhere'

/** `message` can be shown. */
export type SessionEnd = { reason: SessionEndReason; message: string }

export type SessionState = {
  token: string | null
  user: User | null
  loading: boolean
  /** True while loadUser waits for its next try. */
  reconnecting: boolean
  ended: SessionEnd | null
}

/** Spec: Client session behaviour. */
export type Session = Store<SessionState> & {
  /** Connects the other instances with their stored tokens, else with `password`. */
  initSession(token: string, user: User, secrets?: { password?: string }): void
  /** Null: no token, or a refused one (401, 403, 404). Other failures are tried again. */
  loadUser(): Promise<User | null>
  logout(): void
  replaceToken(token: string): void
  setUser(user: User): void
  /** Ignores any token but the current one. Returns whether no session is left. */
  invalidateToken(token: string, end: SessionEnd): boolean
  /** The stored session stays. */
  close(): void
  /** Needed after a change in another tab. */
  readStorage(): void
}
