import type { Ports } from '@gatehouse/service-kit'
import type { InviteConfig } from './config.ts'

/** What this service's operations may use. */
export type Deps = Ports & { config: InviteConfig }
