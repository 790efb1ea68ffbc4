import { isIPv4 } from 'node:net'

/**
 * The network of an address, as text: the /24 of an IPv4 address, the /48 of an IPv6 one. An IPv6 address may come with or
 * without `::`; what is no address is a network of its own. Contract: 3, the hashing queue.
 */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address
  if (isIPv4(mapped)) return mapped.split('.').slice(0, 3).join('.')
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const groups = tail === undefined ? head.split(':') : expand(head, tail)
  return groups
    .slice(0, 3)
    .map((group) => Number.parseInt(group || '0', 16).toString(16))
    .join(':')
}

/** The eight groups of an address that is written with `::`. */
function expand(head: string, tail: string): string[] {
  const before = head === '' ? [] : head.split(':')
  const after = tail === '' ? [] : tail.split(':')
  const missing = Math.max(0, 8 - before.length - after.length)
  return [...before, ...Array.from({ length: missing }, () => '0'), ...after]
}
