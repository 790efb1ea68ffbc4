import { accountEndpoints } from './endpoints-accounts.ts'
import { adminEndpoints, inviteEndpoints } from './endpoints-admin.ts'
import { federationEndpoints } from './endpoints-federation.ts'

/** The whole public API: what the gateway lets through and to whom, and what the OpenAPI document is made from. */
export const endpoints = {
  ...accountEndpoints,
  ...inviteEndpoints,
  ...adminEndpoints,
  ...federationEndpoints,
} as const
export type EndpointName = keyof typeof endpoints
