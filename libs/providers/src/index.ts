import { policy } from './policy.ts'

export { createProviders, isUnreachable, loadClient, unavailable, type Providers } from './providers.ts'
export const { providerTimeoutMs } = policy
