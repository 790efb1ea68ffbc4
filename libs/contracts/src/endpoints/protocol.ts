import type { RateLimit } from './table.ts'

export type ProtocolRoute = {
  methods: readonly ('GET' | 'POST' | 'OPTIONS')[]
  path: string
  limit: RateLimit
  readsCookies?: true
}

const limited = (name: string, requests: number, windowSeconds: number): RateLimit => ({
  name,
  requests,
  windowSeconds,
})
/** By network: an application asks for all its people from one address. Its secret and codes are 256 bits. */
const ofServers = (name: string) => limited(name, 6_000, 60)
/** As `offers` of endpoints: each opened page asks, and a network may have many people. */
const offers = (name: string) => limited(name, 300, 60)

/**
 * What OpenID Connect and its kin define: no JSON of this API, no error codes of it, cookies of their own. The service openid
 * answers them and gets `Authorization`, which is no token of this API; the gateway signs the address alone. Contract: 3, Applications.
 */
export const protocolRoutes = {
  discovery: {
    methods: ['GET', 'OPTIONS'],
    path: '/.well-known/openid-configuration',
    limit: ofServers('openidDiscovery'),
  },
  signalsDiscovery: { methods: ['GET'], path: '/.well-known/ssf-configuration', limit: ofServers('ssfDiscovery') },
  keys: { methods: ['GET', 'OPTIONS'], path: '/oauth2/jwks', limit: ofServers('openidKeys') },
  authorize: { methods: ['GET', 'POST'], path: '/oauth2/auth', limit: offers('openidAuth'), readsCookies: true },
  resume: { methods: ['GET'], path: '/oauth2/auth/:uid', limit: offers('openidResume'), readsCookies: true },
  interaction: {
    methods: ['GET'],
    path: '/oauth2/interaction/:uid',
    limit: offers('openidInteraction'),
    readsCookies: true,
  },
  pushedRequest: {
    methods: ['POST', 'OPTIONS'],
    path: '/oauth2/par',
    limit: ofServers('openidPar'),
  },
  token: {
    methods: ['POST', 'OPTIONS'],
    path: '/oauth2/token',
    limit: ofServers('openidToken'),
  },
  introspection: {
    methods: ['POST', 'OPTIONS'],
    path: '/oauth2/introspect',
    limit: ofServers('openidIntrospect'),
  },
  revocation: {
    methods: ['POST', 'OPTIONS'],
    path: '/oauth2/revoke',
    limit: ofServers('openidRevoke'),
  },
  userinfo: {
    methods: ['GET', 'POST', 'OPTIONS'],
    path: '/oauth2/userinfo',
    limit: ofServers('openidUserinfo'),
  },
  endSession: {
    methods: ['GET', 'POST'],
    path: '/oauth2/end-session',
    limit: offers('openidEnd'),
    readsCookies: true,
  },
  deviceAuthorization: {
    methods: ['POST', 'OPTIONS'],
    path: '/oauth2/device/auth',
    limit: ofServers('openidDevice'),
  },
  signalsStream: {
    methods: ['GET'],
    path: '/oauth2/signals/stream',
    limit: ofServers('signalsStream'),
  },
  signalsVerification: {
    methods: ['POST'],
    path: '/oauth2/signals/verify',
    limit: ofServers('signalsVerify'),
  },
} as const satisfies Record<string, ProtocolRoute>
