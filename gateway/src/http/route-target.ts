import type { Caller } from '@gatehouse/auth'
import type { Access, RateLimit, UpstreamRight } from '@gatehouse/contracts'
import type { Quota } from '@gatehouse/runtime'
import type { Lane, Replicas } from '../replicas/replicas.ts'

/** For one service or upstream. Design: invariant 6. */
export type CallerSigner = { sign(caller: Caller): string }

/** What a route says of its requests: who may send them, and where they go. */
export type RouteTarget = {
  /** Never contains client input. */
  readonly route: string
  readonly service: string
  readonly replicas: Replicas
  readonly lane: Lane
  readonly access: Access
  /** With access `upstream`. */
  readonly right: UpstreamRight | undefined
  /** A bearer token counts although none is required. */
  readonly readsToken: boolean
  /** Otherwise the service does not get them. */
  readonly readsCookies: boolean
  /** `Authorization` is of the service, no token of a user. The service decides which origins may read. */
  readonly isProtocol: boolean
  readonly limit: RateLimit | undefined
  readonly signer: CallerSigner
  /** The body is ignored, and the request may be repeated. */
  readonly isRead: boolean
  readonly body: {
    readonly maxBytes: number
    /** The service gets it while it is received, and may refuse it by its headers. */
    readonly isStreamed: boolean
    /** Counts what it takes beyond a JSON body. */
    readonly budget?: Quota
  }
  readonly isUpload: boolean
  /** Otherwise a query that is not encoded correctly is refused. */
  readonly anyQuery: boolean
  /** Counts what slow readers leave unread. */
  readonly responseBudget: Quota
  readonly timeoutMs: number
  /** Dropped beside the hop-by-hop fields. */
  readonly droppedFromResponses: ReadonlySet<string> | undefined
}

/** Undefined for an unknown path. `path` is set when it is rewritten. */
export type Route = { target: RouteTarget; path?: string } | { allowed: string[] } | undefined
export type FindRoute = (method: string, path: string) => Route
