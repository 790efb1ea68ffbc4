import type { PublicAddress } from '@gatehouse/service-kit'

/** Names and values alternate. */
export type HeaderList = string[]

export type ResponseHeaders = { api: HeaderList; page: HeaderList }

/** Contract: 1, CORS. Every origin may read, because there are no cookies. */
const crossOrigin: HeaderList = [
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  'Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, X-Request-Id',
  'Cross-Origin-Resource-Policy',
  'cross-origin',
]

/** The web app uses the API, sockets and pictures of other instances. */
export const pageContentPolicy = [
  "default-src 'self'",
  "img-src 'self' blob: data: https: http:",
  "connect-src 'self' https: wss: http: ws:",
  "style-src 'self'",
  "object-src 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "form-action 'self'",
].join('; ')

export const apiContentPolicy = "default-src 'none'; frame-ancestors 'none'"

export function createResponseHeaders(address: PublicAddress): ResponseHeaders {
  const security = ['X-Content-Type-Options', 'nosniff', 'Referrer-Policy', 'no-referrer']
  if (address.origin.startsWith('https:')) security.push('Strict-Transport-Security', 'max-age=31536000')
  return {
    api: [...security, ...crossOrigin],
    page: [
      ...security,
      'Cross-Origin-Opener-Policy',
      'same-origin',
      'X-Frame-Options',
      'DENY',
      'Permissions-Policy',
      'camera=(), microphone=(), geolocation=()',
    ],
  }
}
