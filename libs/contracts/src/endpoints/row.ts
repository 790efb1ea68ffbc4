export type ServiceName = 'identity' | 'invite' | 'session-gateway' | 'federation-fanout'

/**
 * Who may call: anyone; the bearer of a valid token; the bearer of an admin's token; or a peer, whose signature the
 * service itself verifies.
 */
export type Access = 'anyone' | 'bearer' | 'admin' | 'peer'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Where an endpoint is, who may call it, and which service answers. Path parameters are `:name`. */
export type EndpointRow = { method: Method; path: string; access: Access; service: ServiceName }

/** Makes the function that writes the rows of one service. */
export function rowsOf<S extends ServiceName>(service: S) {
  return <M extends Method, P extends string, A extends Access>(method: M, path: P, access: A) => ({
    method,
    path,
    access,
    service,
  })
}
