import type { OutboxRelay } from '@gatehouse/bus'
import type { Resources } from '@gatehouse/service-kit'
import type { InviteConfig } from './config.ts'

/** What this service opens: no Redis, because nothing of it is cached. */
export type InviteResources = Omit<Resources, 'accountStateCache'>

/** What this service's operations may use. */
export type Deps = InviteResources & { config: InviteConfig; relay: OutboxRelay }

/** What every change of an invite needs. */
export type ChangeDeps = Pick<Deps, 'orm' | 'clock' | 'random' | 'relay'>
