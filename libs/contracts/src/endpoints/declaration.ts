import type { z } from 'zod'
import type { RefusalCode } from '../refusals.ts'
import type { EndpointName } from './table.ts'

/** `'file'`: an image, `'archive'`: a ZIP archive, `'redirect'`: none, but an address. */
type Reply = z.ZodType | 'file' | 'archive' | 'redirect'
/** By status. */
type Replies = Record<number, Reply>
type Parts = {
  /** An `:id` needs none. */
  params?: z.ZodObject
  query?: z.ZodObject
  /** `'form'`: `application/x-www-form-urlencoded`. */
  body?: z.ZodType | 'multipart' | 'form'
  refusals?: readonly RefusalCode[]
}
export type EndpointDeclaration = { summary: string; replies: Replies } & Parts
export type Declarations = Partial<Record<EndpointName, EndpointDeclaration>>

export function endpoint<R extends Replies, const P extends Parts = object>(
  summary: string,
  replies: R,
  parts?: P & Record<Exclude<keyof P, keyof Parts>, never>,
) {
  return { summary, replies, ...parts } as { summary: string; replies: R } & NoInfer<P>
}

export const ok = <const R extends Reply>(reply: R) => ({ 200: reply })
export const created = <const R extends Reply>(reply: R) => ({ 201: reply })
export const okOrCreated = <const R extends Reply>(reply: R) => ({ ...ok(reply), ...created(reply) })
