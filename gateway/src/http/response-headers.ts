import type { PublicAddress } from '@gatehouse/service-kit'

/** Names and values alternate. */
export type HeaderList = string[]

export type ResponseHeaders = { api: HeaderList; page: HeaderList }

/** Contract: 1, CORS. Every origin may read, because there are no cookies. */
const crossOrigin = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, X-Request-Id',
  'Cross-Origin-Resource-Policy': 'cross-origin',
}

const ofPages = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  'Permissions-Policy': 'camera=(), microphone=(), geolocation=()',
}

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

export function createResponseHeaders({ origin }: PublicAddress): ResponseHeaders {
  const security = {
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    ...(origin.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=31536000' }),
  }
  return {
    api: Object.entries({ ...security, ...crossOrigin }).flat(),
    page: Object.entries({ ...security, ...ofPages }).flat(),
  }
}
