import type { Api } from '../api/api.ts'
import type { CallOptions } from '../api/options.ts'
import type { User } from '../api/records.ts'
import type { Store } from '../store.ts'
import type { RemoteInstance } from './remote-instance.ts'
import type { StoredRemote } from './stored-remotes.ts'

/** Ordered by origin. */
export type Connections = Store<readonly RemoteInstance[]> & {
  find(origin: string): RemoteInstance | null
  apiOf(origin: string): Api | null
  /** Adds the origin to replicatedInstances. Throws the API's errors, 400 for a bad address. */
  connect(address: string, password: string, options?: CallOptions): Promise<RemoteInstance>
  retry(origin: string): Promise<void>
  /** The instance stays listed. */
  disconnect(origin: string): void
  /** Also from replicatedInstances. */
  remove(origin: string): Promise<void>
  /** After the own instance has removed them. */
  removeLocally(origins: readonly string[]): void
  /** Tries stored tokens first. Never rejects. Without a password it may leave `needs_password`. */
  connectAll(user: User, password: string | null, stored: readonly StoredRemote[]): Promise<void>
  /** Never rejects. */
  readStorage(): Promise<void>
  reset(): void
}
