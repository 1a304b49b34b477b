/**
 * The objects that do the work, by the marks of the objects that apps hold. What apps hold has what parley.d.ts declares and nothing
 * else, and does not lead to what does the work: the package does not export this map.
 *
 * @type {WeakMap<object, any>}
 */
const internals = new WeakMap();
const MARK = Symbol("parley");

/**
 * Sets what does the work of an object that apps hold. The object is known by a mark that it has, and not by itself, since apps may
 * have it behind a proxy (Vue makes one of each object that it observes). The mark is a function: such proxies return functions as they are.
 *
 * @param {object} object
 * @param {object} internal
 */
export function setInternal(object, internal) {
  const mark = () => {};
  internals.set(mark, internal);
  Object.defineProperty(object, MARK, { value: mark });
}

/** Returns what does the work of an object that apps hold. */
export const internalOf = (object) => internals.get(object[MARK]);

/**
 * Gives a class methods and properties that call those of what does the work.
 *
 * @param {Function} type
 * @param {string[]} methods
 * @param {string[]} properties
 */
export function forward(type, methods, properties) {
  for (const name of methods) {
    /** @this {object} */
    const value = function (...values) {
      return internalOf(this)[name](...values);
    };
    Object.defineProperty(type.prototype, name, { value, writable: true, configurable: true });
  }
  for (const name of properties) {
    /** @this {object} */
    const get = function () {
      return internalOf(this)[name];
    };
    Object.defineProperty(type.prototype, name, { get, configurable: true });
  }
}

/**
 * Returns the methods, which are methods of the core that apps call too. The function is for the checker of types: they must be as
 * parley.d.ts declares them, and `this` is the core.
 *
 * @template T
 * @param {T & Partial<import("./parley.js").Parley> & ThisType<import("./core.js").Core>} methods
 * @returns {T}
 */
export const ofParley = (methods) => methods;
