import type { Ports } from '@gatehouse/ports'
import type { InviteConfig } from './config.ts'

/** What this service's operations may use. */
export type Deps = Ports & { config: InviteConfig }
