import type { PublicAddress } from '@gatehouse/service-kit'

/** Names and values in turn, as `writeHead` takes them. */
export type HeaderList = string[]

/** The headers that every answer of a kind carries. */
export type StandingHeaders = { api: HeaderList; page: HeaderList }

/** Contract: 1, CORS. There are no cookies, so any origin may read, and none is named. */
const crossOrigin: HeaderList = [
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  'Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, X-Request-Id',
  'Cross-Origin-Resource-Policy',
  'cross-origin',
]

/** What the web app may load and whom it may call: its own files, and other instances' API, sockets and pictures. */
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

/** What an API answer may do when somebody opens it as a page. */
export const apiContentPolicy = "default-src 'none'; frame-ancestors 'none'"

/** Made once at start. */
export function createStandingHeaders(address: PublicAddress): StandingHeaders {
  const always = ['X-Content-Type-Options', 'nosniff', 'Referrer-Policy', 'no-referrer']
  if (address.origin.startsWith('https:')) always.push('Strict-Transport-Security', 'max-age=31536000')
  return {
    api: [...always, ...crossOrigin],
    page: [
      ...always,
      'Cross-Origin-Opener-Policy',
      'same-origin',
      'X-Frame-Options',
      'DENY',
      'Permissions-Policy',
      'camera=(), microphone=(), geolocation=()',
    ],
  }
}
