import type { z } from 'zod'
import type { RateLimit } from './limits.ts'

export type ServiceName = 'identity' | 'invite' | 'session-gateway' | 'federation-fanout'

/**
 * Who may call: anybody; the bearer of a live token; one whose account is an admin; or a peer, whose signature the
 * service itself checks.
 */
export type Access = 'anyone' | 'bearer' | 'admin' | 'peer'

/** One row of the public API. Path parameters are written `:name`. */
export type Endpoint = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  service: ServiceName
  access: Access
  summary: string
  limit?: RateLimit
  params?: z.ZodObject
  query?: z.ZodObject
  /** A JSON body; `'multipart'` for a file in the field `file`. */
  body?: z.ZodType | 'multipart'
  /** Successful answers by status; `'file'` for bytes. */
  replies: Record<number, z.ZodType | 'file'>
}
