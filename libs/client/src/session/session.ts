import type { User } from '../api/records.ts'
import type { Store } from '../store.ts'

/** Where the token lives in the local storage. */
export const tokenKey = 'service_token'

export type SessionEndReason =
  'logged_out' | 'load_failed' | 'token_refused' | 'password_reset' | 'account_deleted' | 'ended_elsewhere'

/** Why there is no session any more; `message` can be shown. */
export type SessionEnd = { reason: SessionEndReason; message: string }

export type SessionState = {
  token: string | null
  user: User | null
  /** True while loadUser runs. */
  loading: boolean
  /** Set when a session ended, null again when one starts. */
  ended: SessionEnd | null
}

/** The session of this client; `token` is read from the storage when it is made. Spec: Client session behaviour. */
export type Session = Store<SessionState> & {
  /** Starts a session. With the password at hand the other instances can be connected by themselves. */
  initSession(token: string, user: User, secrets?: { password?: string }): void
  /** Fetches the user of a token that has none yet; resolves to null without a token or when that fails. */
  loadUser(): Promise<User | null>
  logout(): void
  /** Takes the fresh token of a password change; the session goes on. */
  replaceToken(token: string): void
  /** Takes a newer record of the own user. */
  setUser(user: User): void
  /** Ends the session unless `token` is not, or no longer, its token; gives whether it is over. */
  refuseToken(token: string, end: SessionEnd): boolean
  /** Looks at the storage again: another tab may have logged in, out, or changed the password. */
  readStorage(): void
}
