import { endpointTable, gatewayPaths } from '@gatehouse/contracts'

/** Services may fold the case of a path, and a prefix must not be reached by spelling it otherwise. */
const segmentsOf = (path: string): string[] => path.toLowerCase().split('/').slice(1)

/** Whether one of two paths lies at or below the other, by whole segments; a parameter (`:id`) matches any segment. */
export function areNested(one: string, other: string): boolean {
  const others = segmentsOf(other)
  return segmentsOf(one)
    .slice(0, others.length)
    .every((segment, index) => isSame(segment, others[index] ?? segment))
}

const isSame = (one: string, other: string): boolean => one === other || one.startsWith(':') || other.startsWith(':')

/** Whether two prefixes are the same to every service. */
export const isSamePrefix = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

const ownPaths: readonly string[] = [...Object.values(endpointTable).map(({ path }) => path), ...gatewayPaths]

/** A path of Gatehouse's that a prefix would take or that lies above it, or undefined. */
export function findOwnPath(prefix: string): string | undefined {
  return ownPaths.find((path) => areNested(prefix, path))
}
