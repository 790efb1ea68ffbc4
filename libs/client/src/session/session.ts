import type { User } from '../api/records.ts'
import type { Store } from '../store.ts'

/** The key of the token in the local storage. */
export const tokenKey = 'service_token'

export type SessionEndReason =
  'logged_out' | 'load_failed' | 'token_refused' | 'password_reset' | 'account_deleted' | 'ended_elsewhere'

/** Why the session ended; `message` can be shown. */
export type SessionEnd = { reason: SessionEndReason; message: string }

export type SessionState = {
  token: string | null
  user: User | null
  /** True while loadUser runs. */
  loading: boolean
  /** Set when a session ended, null again when one starts. */
  ended: SessionEnd | null
}

/** The session of this client; `token` is read from the storage on creation. Spec: Client session behaviour. */
export type Session = Store<SessionState> & {
  /**
   * Starts a session and connects to the user's other instances: with the tokens kept for them, and, where there is none
   * that they accept, with the password if it is given.
   */
  initSession(token: string, user: User, secrets?: { password?: string }): void
  /** Fetches the user of a token that has none yet; resolves to null without a token or when that fails. */
  loadUser(): Promise<User | null>
  logout(): void
  /** Stores the new token of a password change; the session goes on. */
  replaceToken(token: string): void
  /** Stores a newer record of the own user. */
  setUser(user: User): void
  /**
   * Ends the session when `token` is its token and no newer one is stored; does nothing for another token. Gives
   * whether there is no session any more.
   */
  invalidateToken(token: string, end: SessionEnd): boolean
  /** Reads the storage again: another tab may have logged in, logged out, or changed the password. */
  readStorage(): void
}
