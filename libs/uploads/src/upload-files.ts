import { join } from 'node:path'

/** On the disk of the finished files. No public name starts with a dot. */
export const tempUploadDir = (uploadDir: string): string => join(uploadDir, '.incoming')

/** A name that is no path, and does not start with a dot. */
export const isUploadName = (name: string): boolean => /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/.test(name)
