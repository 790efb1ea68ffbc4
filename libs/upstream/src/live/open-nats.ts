import { connect, type ConnectionOptions, type NatsConnection } from 'nats'

/** Reconnects for ever. `url` may name several servers. The user may read inboxes under its prefix only. */
export async function openNats({ url, name }: { url: string; name: string }): Promise<NatsConnection> {
  return await connect({
    ...readAddress(url),
    name: `upstream-${name}`,
    inboxPrefix: `_INBOX_${name}`,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    pingInterval: 10_000,
    ignoreAuthErrorAbort: true,
  })
}

function readAddress(text: string): ConnectionOptions {
  const urls = text
    .split(',')
    .map((part) => URL.parse(part.trim().includes('://') ? part.trim() : `nats://${part.trim()}`))
  const servers: string[] = []
  for (const url of urls) {
    // The text may hold a password.
    if (!url?.hostname) throw new TypeError('the NATS address is malformed: expected nats://user:password@host:4222')
    servers.push(`${url.hostname}:${url.port || '4222'}`)
  }
  const tls = urls.some((url) => url?.protocol === 'tls:') ? { tls: {} } : {}
  const authority = urls.find((url) => url?.username)
  if (!authority) return { servers, ...tls }
  const user = decodeURIComponent(authority.username)
  return { servers, ...tls, user, pass: decodeURIComponent(authority.password) }
}
