import type { Api } from '../api/api.ts'
import type { User } from '../api/records.ts'
import type { CallOptions } from '../api/request.ts'
import type { Store } from '../store.ts'
import type { RemoteInstance } from './remote-instance.ts'

/** The user's other instances, in the order of their origin. */
export type Connections = Store<readonly RemoteInstance[]> & {
  find(origin: string): RemoteInstance | null
  /** The API of an instance with the user's token there; null when there is no token. */
  apiOf(origin: string): Api | null
  /**
   * Connects by federated identity: registers there, and logs in when the identity exists already (409). A new origin
   * joins the user's replicatedInstances. Also the way back from `needs_password`. Throws the errors of the API; a 400
   * for an origin that is none, a 403 for a password that is not the user's.
   */
  connect(typedOrigin: string, password: string, call?: CallOptions): Promise<RemoteInstance>
  /** Tries a kept token again, from `unreachable`. */
  retry(origin: string): Promise<void>
  /** Forgets the token; the instance stays listed. */
  disconnect(origin: string): void
  /** Disconnects and takes the instance off the list, here and in the user's replicatedInstances. */
  remove(origin: string): Promise<void>
  /** Takes instances off the list here only: the home instance knows already. */
  forget(origins: readonly string[]): void
  /** Connects to all of the user's instances, each on its own; never rejects. Without the password they wait for it. */
  connectAll(user: User, password: string | null): Promise<void>
  /** The same with the tokens that were kept. */
  restoreAll(user: User): Promise<void>
  /** Takes over the tokens that another tab got; never rejects. */
  readStorage(): Promise<void>
  reset(): void
}
