import type { PublicAddress } from '@gatehouse/service-kit'

/** Names and values in turn, as `writeHead` takes them. */
export type HeaderList = string[]

/** The headers of every response: of the API, errors included, and of the web app's files. */
export type ResponseHeaders = { api: HeaderList; page: HeaderList }

/** Contract: 1, CORS. There are no cookies, so every origin may read and none is named. */
const crossOrigin: HeaderList = [
  'Access-Control-Allow-Origin',
  '*',
  'Access-Control-Expose-Headers',
  'Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, X-Request-Id',
  'Cross-Origin-Resource-Policy',
  'cross-origin',
]

/** What the web app may load and connect to: its own files, and the API, sockets and pictures of other instances. */
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

/** What a JSON response may do when a browser opens it as a page. */
export const apiContentPolicy = "default-src 'none'; frame-ancestors 'none'"

/** Built once at start. */
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
