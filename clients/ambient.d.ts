/**
 * What the sources use and TypeScript 4.8 of Debian does not declare, for `tsc -p clients` alone (`make lint`). Nothing of it is part
 * of the packages.
 */

// Newer than the libraries of that TypeScript.
interface Array<T> {
  findLast(test: (item: T, index: number, all: T[]) => unknown): T | undefined;
}
interface Navigator {
  setAppBadge?(count: number): Promise<void>;
}
declare const OffscreenCanvas: new (width: number, height: number) => {
  getContext(kind: "2d"): CanvasRenderingContext2D;
  convertToBlob(): Promise<Blob>;
};

// Node, whose declarations Debian does not package.
declare module "node:crypto";
declare module "node:fs/promises";
declare module "node:http";
declare module "node:https";
declare const Buffer: any;

/** The scope of a service worker as far as sw.js uses it: TypeScript's declarations of workers contradict those of pages. */
interface WorkerScope {
  readonly registration: ServiceWorkerRegistration;
  readonly clients: {
    claim(): Promise<void>;
    matchAll(options: { type: "window"; includeUncontrolled: boolean }): Promise<PageOfWorker[]>;
    openWindow(url: string): Promise<PageOfWorker | null>;
  };
  skipWaiting(): Promise<void>;
  addEventListener<K extends keyof WorkerEvents>(type: K, listener: (event: WorkerEvent & WorkerEvents[K]) => void): void;
}
interface PageOfWorker {
  readonly url: string;
  postMessage(message: unknown): void;
  focus(): Promise<PageOfWorker>;
}
interface WorkerEvent extends Event {
  waitUntil(work: Promise<unknown>): void;
}
interface WorkerEvents {
  install: {};
  activate: {};
  fetch: { readonly request: Request; respondWith(answer: Promise<Response>): void };
  push: { readonly data?: { json(): any } };
  notificationclick: { readonly notification: Notification };
}
