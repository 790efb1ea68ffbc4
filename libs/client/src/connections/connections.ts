import type { Api } from '../api/api.ts'
import type { CallOptions } from '../api/options.ts'
import type { User } from '../api/records.ts'
import type { Store } from '../store.ts'
import type { RemoteInstance } from './remote-instance.ts'
import type { StoredRemote } from './stored-remotes.ts'

/** The user's other instances, in the order of their origin. */
export type Connections = Store<readonly RemoteInstance[]> & {
  find(origin: string): RemoteInstance | null
  /** The API of an instance with the user's token there; null when there is no token. */
  apiOf(origin: string): Api | null
  /**
   * Connects by federated identity: registers there, and logs in when the identity exists already (409). A new origin
   * is added to the user's replicatedInstances. Also for an instance in `needs_password`. Throws the errors of the API;
   * a 400 for an address without an origin, a 403 for a wrong password.
   */
  connect(address: string, password: string, options?: CallOptions): Promise<RemoteInstance>
  /** Tries the stored token again, from `unreachable`. */
  retry(origin: string): Promise<void>
  /** Deletes the token; the instance stays listed. */
  disconnect(origin: string): void
  /** Disconnects and removes the instance, here and from the user's replicatedInstances. */
  remove(origin: string): Promise<void>
  /** Removes instances here only, after the own instance has removed them. */
  removeLocally(origins: readonly string[]): void
  /**
   * Connects to all of the user's instances, with the stored tokens first; never rejects. Without a password, those whose
   * token is missing or refused are in `needs_password`.
   */
  connectAll(user: User, password: string | null, stored: readonly StoredRemote[]): Promise<void>
  /** Reads the tokens that another tab has stored; never rejects. */
  readStorage(): Promise<void>
  reset(): void
}
