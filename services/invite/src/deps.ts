import type { ActingCaller } from '@gatehouse/authority'
import type { OutboxRelay } from '@gatehouse/outbox'
import type { Resources } from '@gatehouse/service-kit'
import type { InviteConfig } from './config.ts'

/** No Redis: nothing is cached. */
export type InviteResources = Omit<Resources, 'accountStateCache'>

export type Deps = InviteResources & { config: InviteConfig; relay: OutboxRelay }

export type ActingMember = ActingCaller & { username: string }

export type ChangeDeps = Pick<Deps, 'orm' | 'clock' | 'random' | 'relay' | 'config'>
